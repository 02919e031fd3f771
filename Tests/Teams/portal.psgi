# LemonLDAP::NG's portal for Tests/Teams, without a web server: plackup -s HTTP::Server::PSGI. LLNG_DEFAULTCONFFILE names its settings.
use strict;
use warnings;

# The portal doesn't start without a module for pictures to type off, which nothing here shows, and which needs ImageMagick.
package Lemonldap::NG::Portal::Captcha::None;
use Mouse;
extends 'Lemonldap::NG::Portal::Main::Plugin';
sub init { 1 }
$INC{'Lemonldap/NG/Portal/Captcha/None.pm'} = __FILE__;

package main;
use Plack::Builder;
use Plack::App::File;
use Lemonldap::NG::Portal::Main;

builder {
  mount '/static' => Plack::App::File->new( root => '/usr/share/lemonldap-ng/portal/htdocs/static' )->to_app;
  mount '/javascript' => Plack::App::File->new( root => '/usr/share/javascript' )->to_app;
  mount '/' => Lemonldap::NG::Portal::Main->run( {} );
};
