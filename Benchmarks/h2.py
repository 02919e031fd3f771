"""nginx as the front of a site: TLS and HTTP/2, on a port that the kernel chose."""
import base64, hashlib, os, socket, subprocess

CONFIG = """daemon off; pid {folder}/nginx.pid; error_log {folder}/nginx.log; worker_processes 1;
events {{ worker_connections 1024; }}
http {{
  access_log off; client_max_body_size 1g; client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi; uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
  upstream site {{ server 127.0.0.1:{to}; keepalive 16; }}
  server {{
    listen 127.0.0.1:{port} ssl http2;
    ssl_certificate {folder}/front.pem; ssl_certificate_key {folder}/front.key;
    location / {{
      proxy_pass http://site; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_set_header Host $http_host;
      proxy_buffers 32 64k; proxy_read_timeout 300s;
    }}
  }}
}}
"""


class Front:
    """Forwards each host's requests, with `Host`, to a server of this machine. `flags`: what makes Chromium trust its certificate."""

    def __init__(self, folder, to):
        self.folder = f"{folder}/front"
        os.makedirs(self.folder)
        with socket.socket() as one:
            one.bind(("127.0.0.1", 0))
            self.port = one.getsockname()[1]
        key, certificate = f"{self.folder}/front.key", f"{self.folder}/front.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-keyout", key,
                        "-out", certificate, "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,DNS:*.localhost"],
                       check=True, capture_output=True)
        public = subprocess.run(["openssl", "x509", "-in", certificate, "-noout", "-pubkey"], check=True, capture_output=True).stdout
        der = subprocess.run(["openssl", "pkey", "-pubin", "-outform", "der"], input=public, check=True, capture_output=True).stdout
        self.flags = [f"--ignore-certificate-errors-spki-list={base64.b64encode(hashlib.sha256(der).digest()).decode()}"]
        with open(f"{self.folder}/nginx.conf", "w") as file:
            file.write(CONFIG.format(folder=self.folder, port=self.port, to=to))
        self.nginx = subprocess.Popen(["nginx", "-c", f"{self.folder}/nginx.conf"], stderr=subprocess.DEVNULL)

    def stop(self):
        self.nginx.terminate()
        self.nginx.wait(30)
